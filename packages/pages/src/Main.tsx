import { forwardRef, type ReactNode } from 'react';
import styles from './Main.module.css';

/** What the pages of a plugin are in. It takes the focus from the link that skips the navigation. */
export const Main = forwardRef<HTMLElement, { children: ReactNode }>(
  ({ children }, ref) => (
    <main ref={ref} tabIndex={-1} className={styles.main}>
      {children}
    </main>
  ),
);
Main.displayName = 'Main';
