import { configApiRef, useApi } from '@backstage/frontend-plugin-api';
import { Header, type HeaderProps } from '@backstage/ui';
import { useEffect } from 'react';
import styles from './PageHeader.module.css';

/**
 * The header of a page, whose title is that of the browser's tab too. On a narrow screen, what
 * there is to do is below the title.
 */
export function PageHeader(
  props: HeaderProps & {
    /** Whether the title is not that of the page yet. The tab has none of the page's then. */
    isLoading?: boolean;
  },
) {
  const { isLoading = false, ...header } = props;
  const { title } = header;
  const portal = useApi(configApiRef).getOptionalString('app.title');
  useEffect(() => {
    if (isLoading) {
      return undefined;
    }
    const before = document.title;
    document.title = [title, portal].filter(Boolean).join(' | ');
    return () => {
      document.title = before;
    };
  }, [title, portal, isLoading]);
  return <Header {...header} className={styles.header} />;
}
