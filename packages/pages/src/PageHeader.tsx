import { Header, type HeaderProps } from '@backstage/ui';
import styles from './PageHeader.module.css';

/** The header of a page. On a narrow screen, what there is to do is below the title. */
export function PageHeader(props: HeaderProps) {
  return <Header {...props} className={styles.header} />;
}
