import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { useEntity } from '@backstage/plugin-catalog-react';
import { Card, CardBody, CardHeader, Text } from '@backstage/ui';
import { tenantsTranslationRef } from '../translation';
import { sharedFrom } from './origin';

/** Says of a copy which tenant shares it. */
export function SharedFromCard() {
  const { entity } = useEntity();
  const { t } = useTranslationRef(tenantsTranslationRef);
  return (
    <Card>
      <CardHeader>
        <Text as="h2" variant="title-x-small" weight="bold">
          {t('catalog.copy.title', { tenant: sharedFrom(entity) ?? '' })}
        </Text>
      </CardHeader>
      <CardBody>
        <Text as="p" color="secondary">
          {t('catalog.copy.text')}
        </Text>
      </CardBody>
    </Card>
  );
}
