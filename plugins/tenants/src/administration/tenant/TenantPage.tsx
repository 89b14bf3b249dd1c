import { Content, Header, Page, RoutedTabs } from '@backstage/core-components';
import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { useParams } from 'react-router-dom';
import { tenantsTranslationRef } from '../../translation';
import { MembersTab } from '../members/MembersTab';
import { SourcesTab } from '../sources/SourcesTab';
import { OverviewTab } from './OverviewTab';

/** One tenant: what it is and does, who may enter it, and what feeds its catalog. */
export function TenantPage() {
  const { slug = '' } = useParams();
  const { t } = useTranslationRef(tenantsTranslationRef);
  return (
    <Page themeId="tool">
      <Header title={slug} />
      <Content>
        <RoutedTabs
          routes={[
            {
              path: '/',
              title: t('tenant.tabs.overview'),
              children: <OverviewTab slug={slug} />,
            },
            {
              path: '/members',
              title: t('tenant.tabs.members'),
              children: <MembersTab slug={slug} />,
            },
            {
              path: '/sources',
              title: t('tenant.tabs.sources'),
              children: <SourcesTab slug={slug} />,
            },
          ]}
        />
      </Content>
    </Page>
  );
}
