import type { ReactNode } from 'react';
import styles from './administration.module.css';

/** A table without sorting and pages. */
export function PlainTable(props: {
  columns: string[];
  className?: string;
  /** The rows. */
  children: ReactNode;
}) {
  const { columns, className, children } = props;
  return (
    <table className={`${styles.table} ${className ?? ''}`}>
      <thead>
        <tr>
          {columns.map(column => (
            <th key={column} scope="col">
              {column}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  );
}
