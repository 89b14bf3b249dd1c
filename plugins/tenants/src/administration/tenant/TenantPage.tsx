import {
  BreadcrumbEntry,
  useRouteRef,
  useTranslationRef,
} from '@backstage/frontend-plugin-api';
import { Container, Header } from '@backstage/ui';
import { Route, Routes, useParams } from 'react-router-dom';
import { rootRouteRef } from '../../routes';
import { tenantsTranslationRef } from '../../translation';
import { MembersTab } from '../members/MembersTab';
import { SourcesTab } from '../sources/SourcesTab';
import { OverviewTab } from './OverviewTab';

/** One tenant: what it is and does, who may enter it, and what feeds its catalog. */
export function TenantPage() {
  const { slug = '' } = useParams();
  const { t } = useTranslationRef(tenantsTranslationRef);
  const href = `${useRouteRef(rootRouteRef)?.() ?? ''}/${slug}`;
  return (
    <BreadcrumbEntry entry={{ label: slug, href }}>
      <Header
        title={slug}
        tabs={[
          { id: 'overview', label: t('tenant.tabs.overview'), href },
          {
            id: 'members',
            label: t('tenant.tabs.members'),
            href: `${href}/members`,
          },
          {
            id: 'sources',
            label: t('tenant.tabs.sources'),
            href: `${href}/sources`,
          },
        ]}
      />
      <Container>
        <Routes>
          <Route path="/" element={<OverviewTab slug={slug} />} />
          <Route path="/members/*" element={<MembersTab slug={slug} />} />
          <Route path="/sources/*" element={<SourcesTab slug={slug} />} />
        </Routes>
      </Container>
    </BreadcrumbEntry>
  );
}
