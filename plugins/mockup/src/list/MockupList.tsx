import { useApi, useTranslationRef } from '@backstage/frontend-plugin-api';
import { Container, Flex, Header, Link, Text } from '@backstage/ui';
import useAsync from 'react-use/esm/useAsync';
import { mockupApiRef } from '../api';
import { mockupTranslationRef } from '../translation';

/** The mockups that the user may see. */
export function MockupList() {
  const { t } = useTranslationRef(mockupTranslationRef);
  const api = useApi(mockupApiRef);
  const { value: page } = useAsync(() => api.listMockups(), [api]);
  return (
    <>
      <Header title={t('list.title')} />
      <Container>
        <Flex direction="column" gap="2">
          {page?.items.map(({ id, name }) => (
            <Link key={id} href={id}>
              {name}
            </Link>
          ))}
          {page?.items.length === 0 && <Text>{t('list.empty')}</Text>}
        </Flex>
      </Container>
    </>
  );
}
