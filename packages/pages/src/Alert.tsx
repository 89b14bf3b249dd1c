import { Alert as StockAlert, type AlertProps } from '@backstage/ui';
import { forwardRef } from 'react';
import styles from './Alert.module.css';

/** The stock alert. On a narrow page, what there is to do stands below its words. */
export const Alert = forwardRef<HTMLDivElement, AlertProps>(
  ({ className, ...props }, ref) => (
    <StockAlert
      {...props}
      ref={ref}
      className={[styles.alert, className].filter(Boolean).join(' ')}
    />
  ),
);
Alert.displayName = 'Alert';
