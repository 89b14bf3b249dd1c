import { Skeleton as StockSkeleton, type SkeletonProps } from '@backstage/ui';
import styles from './Skeleton.module.css';

/** The stock one, which has the colour of the page in the light theme, in one that is seen. */
export function Skeleton(props: SkeletonProps) {
  return <StockSkeleton {...props} aria-hidden className={styles.skeleton} />;
}
