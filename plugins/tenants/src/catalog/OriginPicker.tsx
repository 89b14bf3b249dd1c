import { Select } from '@backstage/core-components';
import { useApi, useTranslationRef } from '@backstage/frontend-plugin-api';
import Box from '@material-ui/core/Box';
import {
  catalogApiRef,
  type DefaultEntityFilters,
  useEntityList,
} from '@backstage/plugin-catalog-react';
import { useEffect, useState } from 'react';
import useAsync from 'react-use/esm/useAsync';
import { tenantsTranslationRef } from '../translation';
import { EntityOriginFilter, type Origin, SHARED_FROM } from './origin';

type Filters = DefaultEntityFilters & { origin?: EntityOriginFilter };

const ALL = 'all';
const ORIGINS: readonly Origin[] = ['own', 'shared'];

/** Chooses own or shared entities, where the tenant has shared ones. */
export function OriginPicker() {
  const catalogApi = useApi(catalogApiRef);
  const { t } = useTranslationRef(tenantsTranslationRef);
  const { queryParameters, updateFilters } = useEntityList<Filters>();
  const [origin, setOrigin] = useState(() =>
    ORIGINS.find(each => each === queryParameters.origin),
  );
  const { value: hasCopies } = useAsync(async () => {
    const { facets } = await catalogApi.getEntityFacets({
      facets: [SHARED_FROM],
    });
    return facets[SHARED_FROM].length > 0;
  }, [catalogApi]);
  useEffect(() => {
    updateFilters({ origin: origin && new EntityOriginFilter(origin) });
  }, [origin, updateFilters]);
  // One that is chosen by the address can be taken back.
  if (!hasCopies && !origin) {
    return null;
  }
  return (
    <Box py={1}>
      <Select
        label={t('catalog.origin.label')}
        selected={origin ?? ALL}
        items={[ALL, ...ORIGINS].map(value => ({
          value,
          label: t(`catalog.origin.${value as Origin | typeof ALL}`),
        }))}
        onChange={value => setOrigin(ORIGINS.find(each => each === value))}
      />
    </Box>
  );
}
