import {
  useSidebarOpenState,
  useSidebarPinState,
} from '@backstage/core-components';
import { makeStyles } from '@material-ui/core/styles';
import { useContext, useLayoutEffect } from 'react';
import { OpenTenantContext } from './OpenTenantContext';
import { TenantMenu } from './TenantMenu';

const useStyles = makeStyles(theme => ({
  // As items of the sidebar are.
  root: {
    boxSizing: 'border-box',
    display: 'flex',
    alignItems: 'center',
    justifyContent: 'flex-start',
    width: '100%',
    height: 48,
    padding: theme.spacing(0, 1, 0, 3),
    borderRadius: 0,
    background: 'none',
    color: theme.palette.navigation.color,
    '&[data-hovered], &[data-pressed]': {
      background: theme.palette.navigation.navItem?.hoverBackground,
      color: theme.palette.navigation.selectedColor,
    },
    '&[data-focus-visible]': {
      outline: '2px solid currentColor',
      outlineOffset: -4,
    },
  },
}));

/**
 * The name of the tenant that is open in this page, for the sidebar of an app or a bar of its own
 * on narrow screens, with a menu of the tenants that its user may enter. It is nothing while
 * multi-tenancy is off. Where an app shows none, the plugin shows a bar above the pages.
 *
 * @public
 */
export function TenantSwitcher() {
  const classes = useStyles();
  const { isOpen } = useSidebarOpenState();
  const { isMobile } = useSidebarPinState();
  const open = useContext(OpenTenantContext);
  const showsTenant = open?.showsTenant;
  // The menu of the stock sidebar on narrow screens, which is closed but for a moment.
  const isInMenu = isMobile && isOpen;

  // Before the browser paints: the bar must not be seen for a moment.
  useLayoutEffect(
    () => (isInMenu ? undefined : showsTenant?.()),
    [isInMenu, showsTenant],
  );

  if (isInMenu || !open?.tenant.enabled) {
    return null;
  }
  return (
    <TenantMenu
      tenant={open.tenant}
      className={classes.root}
      iconSize={24}
      showsName={isOpen || isMobile === true}
    />
  );
}
