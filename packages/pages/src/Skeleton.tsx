import { Skeleton as StockSkeleton, type SkeletonProps } from '@backstage/ui';
import styles from './Skeleton.module.css';

/** The stock one, whose colour is that of the page in the light theme, so that it can be seen. */
export function Skeleton({ style, ...props }: SkeletonProps) {
  return (
    <StockSkeleton
      {...props}
      aria-hidden
      className={styles.skeleton}
      style={{ ...style, backgroundColor: 'var(--bui-border-1)' }}
    />
  );
}
