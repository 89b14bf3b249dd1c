import { Link, type LinkProps } from '@backstage/ui';
import styles from './TextLink.module.css';

/** A link that is seen as one within text, where the stock one has the colour of the text. */
export function TextLink(props: LinkProps) {
  return <Link {...props} className={styles.link} />;
}
