import { useApi, useTranslationRef } from '@backstage/frontend-plugin-api';
import {
  Button,
  MenuAutocompleteListbox,
  MenuListBoxItem,
  MenuTrigger,
} from '@backstage/ui';
import { makeStyles } from '@material-ui/core/styles';
import { RiBuilding2Line, RiExpandUpDownLine } from '@remixicon/react';
import type { Membership, OpenTenant } from 'backstage-plugin-tenants-common';
import { useCallback, useEffect, useState } from 'react';
import { tenantsApiRef } from '../api';
import { tenantsTranslationRef } from '../translation';
import { useOpenOther } from './OpenTenantContext';
import { ownTenants } from './ownTenants';
import styles from './TenantMenu.module.css';

/** What the list shows at once without a virtual one, whose rows all have one height. */
const FEW = 100;

// A long name makes it wider than a phone.
const WIDEST = 'min(32rem, calc(100vw - 24px))';

const POPOVER = 'tenants-menu-popover';

/** Keys of what is no tenant in the list: no slug has a space. */
const RETRY = 'try again';
const LOADING = 'still loading';
const NOT_KEPT = 'not kept';

const useStyles = makeStyles(theme => ({
  wrapped: {
    maxWidth: WIDEST,
    '& [role=option]': {
      height: 'auto',
      minHeight: '2rem',
      overflowWrap: 'anywhere',
    },
  },
  content: {
    display: 'flex',
    alignItems: 'center',
    gap: theme.spacing(2),
    width: '100%',
    minWidth: 0,
    '& svg': { flexShrink: 0 },
  },
  name: {
    flexGrow: 1,
    overflow: 'hidden',
    textOverflow: 'ellipsis',
    whiteSpace: 'nowrap',
    textAlign: 'start',
    fontSize: theme.typography.fontSize,
    fontWeight: 'bold',
  },
}));

/**
 * The name of the open tenant, which opens a list of those that the user may enter; the name
 * alone where there is no other.
 */
export function TenantMenu(props: {
  tenant: OpenTenant;
  className: string;
  iconSize: number;
  /** There may be room for the icon alone. */
  showsName: boolean;
}) {
  const { tenant, className, iconSize, showsName } = props;
  const classes = useStyles();
  const { t } = useTranslationRef(tenantsTranslationRef);
  const { tenants, totalItems, failed, load } = useOwnTenants(tenant);
  const { openOther, isNotKept } = useOpenOther(tenant);
  const [isOpen, setOpen] = useState(false);
  const isLong = tenants.length > FEW;

  // The list is found by typing, and the popover takes the focus itself.
  useEffect(() => {
    if (isOpen) {
      document.querySelector<HTMLElement>(`.${POPOVER} input`)?.focus();
    }
  }, [isOpen]);

  const content = (
    <span className={classes.content}>
      <RiBuilding2Line aria-hidden size={iconSize} />
      {showsName && (
        <>
          <span className={classes.name}>{tenant.tenant_name}</span>
          <RiExpandUpDownLine aria-hidden size={16} />
        </>
      )}
    </span>
  );
  if (!failed && totalItems <= 1) {
    return (
      <div
        className={className}
        role="img"
        aria-label={t('openTenant.menu.name', { name: tenant.tenant_name })}
        title={tenant.tenant_name}
      >
        {content}
      </div>
    );
  }
  const notes: { id: string; text: string }[] = [
    ...(isNotKept
      ? [{ id: NOT_KEPT, text: t('openTenant.menu.notKept') }]
      : []),
    ...(failed ? [{ id: RETRY, text: t('openTenant.menu.failed') }] : []),
    ...(!failed && tenants.length < totalItems
      ? [{ id: LOADING, text: t('openTenant.menu.loading') }]
      : []),
  ];
  const select = (key: unknown) => {
    if (key === RETRY) {
      load();
    } else if (
      typeof key === 'string' &&
      !key.includes(' ') &&
      key !== tenant.tenant_slug
    ) {
      openOther(key);
    }
  };
  return (
    <MenuTrigger
      isOpen={isOpen}
      onOpenChange={opens => {
        setOpen(opens);
        if (opens) {
          load();
        }
      }}
    >
      <Button
        variant="tertiary"
        className={className}
        aria-label={t('openTenant.menu.button', { name: tenant.tenant_name })}
      >
        {content}
      </Button>
      <MenuAutocompleteListbox
        className={`${POPOVER} ${isLong ? styles.cut : classes.wrapped}`}
        aria-label={t('openTenant.menu.list')}
        placeholder={t('openTenant.menu.find')}
        selectionMode="single"
        selectedKeys={[tenant.tenant_slug]}
        onSelectionChange={keys => select([...keys][0] ?? tenant.tenant_slug)}
        renderEmptyState={() => t('openTenant.menu.empty')}
        virtualized={isLong}
        maxWidth={isLong ? WIDEST : undefined}
        maxHeight="60vh"
        items={[
          ...notes,
          ...tenants.map(({ tenant_slug, tenant_name }) => ({
            id: tenant_slug,
            text: tenant_name,
          })),
        ]}
      >
        {item => {
          const { id, text } = item as { id: string; text: string };
          return (
            <MenuListBoxItem
              id={id}
              textValue={id.includes(' ') ? text : `${text} ${id}`}
              isDisabled={id === LOADING || id === NOT_KEPT}
            >
              <span>{text}</span>
            </MenuListBoxItem>
          );
        }}
      </MenuAutocompleteListbox>
    </MenuTrigger>
  );
}

/** The tenants that the user may enter: those that came with the page, until all are loaded. */
function useOwnTenants({ own_tenants }: OpenTenant) {
  const tenantsApi = useApi(tenantsApiRef);
  const [state, setState] = useState<{
    tenants: Membership[];
    totalItems: number;
    failed: boolean;
  }>({
    tenants: own_tenants.items,
    totalItems: own_tenants.totalItems,
    failed: false,
  });

  const load = useCallback(async () => {
    try {
      for await (const page of ownTenants(tenantsApi)) {
        setState({ ...page, failed: false });
      }
    } catch {
      setState(before => ({ ...before, failed: true }));
    }
  }, [tenantsApi]);

  return { ...state, load };
}
