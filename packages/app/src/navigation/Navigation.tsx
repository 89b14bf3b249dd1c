import {
  Link,
  Sidebar,
  sidebarConfig,
  SidebarDivider,
  SidebarGroup,
  SidebarItem,
  SidebarScrollWrapper,
  SidebarSpace,
  useSidebarOpenState,
} from '@backstage/core-components';
import {
  configApiRef,
  useApi,
  useTranslationRef,
} from '@backstage/frontend-plugin-api';
import { makeStyles } from '@material-ui/core/styles';
import {
  NavContentBlueprint,
  type NavContentComponentProps,
  type NavContentNavItem,
} from '@backstage/plugin-app-react';
import { SidebarSearchModal } from '@backstage/plugin-search';
import { UserSettingsSignInAvatar } from '@backstage/plugin-user-settings';
import { RiMenuLine, RiSearchLine, RiStackFill } from '@remixicon/react';
import { useHomePage } from 'backstage-plugin-mockup';
import { TenantSwitcher } from 'backstage-plugin-tenants';
import { useCallback } from 'react';
import { portalTranslationRef } from '../translation';

const useStyles = makeStyles(theme => ({
  wordmark: {
    display: 'flex',
    alignItems: 'center',
    boxSizing: 'border-box',
    width: '100%',
    minHeight: 64,
    color: theme.palette.navigation.selectedColor,
    fontWeight: 'bold',
    lineHeight: 1.2,
    '& svg': { flex: `0 0 ${sidebarConfig.iconContainerWidth - 16}px` },
  },
  item: {
    // Stock items keep room for a submenu, and cut long names off.
    '& > div:last-child:empty': { display: 'none' },
    '& > span': {
      paddingRight: theme.spacing(1),
      lineHeight: 1.2,
      whiteSpace: 'normal',
    },
  },
}));

/** The sidebar; on phones, a bar at the bottom. */
function Navigation({ navItems }: NavContentComponentProps) {
  const { t } = useTranslationRef(portalTranslationRef);
  const home = useHomePage();

  const items = navItems.clone();
  const [catalog, search, settings] = [
    'page:catalog',
    'page:search',
    'page:user-settings',
  ].map(id => items.take(id));
  // Empty, unless an entity leads there.
  items.take('page:catalog-graph');
  const others = items.rest().sort((a, b) => a.title.localeCompare(b.title));
  return (
    <Sidebar>
      <Wordmark to={home ?? '/'} />
      <TenantSwitcher />
      <SidebarDivider />
      {search && (
        <SidebarGroup
          label={t('navigation.search')}
          icon={<RiSearchLine />}
          to={search.href}
        >
          <SidebarSearchModal icon={SearchIcon} />
        </SidebarGroup>
      )}
      <SidebarGroup label={t('navigation.menu')} icon={<RiMenuLine />}>
        {catalog && <Item {...catalog} />}
        <SidebarScrollWrapper>
          {others.map(item => (
            <Item key={item.node.spec.id} {...item} />
          ))}
        </SidebarScrollWrapper>
      </SidebarGroup>
      <SidebarSpace />
      <SidebarDivider />
      {settings && (
        <SidebarGroup
          label={t('navigation.settings')}
          icon={<UserSettingsSignInAvatar />}
          to={settings.href}
        >
          <Item {...settings} icon={<UserSettingsSignInAvatar />} />
        </SidebarGroup>
      )}
    </Sidebar>
  );
}

function Item({ icon, href, title }: NavContentNavItem) {
  const classes = useStyles();
  const Icon = useCallback(() => icon, [icon]);
  return (
    <SidebarItem className={classes.item} icon={Icon} to={href} text={title} />
  );
}

// The sidebar's icons take other sizes than this one understands.
function SearchIcon() {
  return <RiSearchLine />;
}

/** The name of the portal, which leads to its first page. */
function Wordmark({ to }: { to: string }) {
  const { isOpen } = useSidebarOpenState();
  const classes = useStyles();
  const { t } = useTranslationRef(portalTranslationRef);
  const title =
    useApi(configApiRef).getOptionalString('app.title') ?? t('navigation.home');
  return (
    <Link
      to={to}
      underline="none"
      className={classes.wordmark}
      aria-label={`${title}, ${t('navigation.home')}`}
    >
      <RiStackFill />
      {isOpen && title}
    </Link>
  );
}

export const navigation = NavContentBlueprint.make({
  params: { component: Navigation },
});
