import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { Button, Text } from '@backstage/ui';
import {
  Skeleton,
  useFailureText,
  useFocusPassedOn,
  useRead,
} from '@internal/pages';
import { type ComponentType, useEffect, useState } from 'react';
import useDebounce from 'react-use/esm/useDebounce';
import { mockupTranslationRef } from '../../translation';
import type {
  MockupComponent,
  MockupComponentProps,
} from '../registry/MockupComponentBlueprint';
import styles from './live.module.css';
import { placesIn } from './parameters';
import { TooManyQuestionsError, usePageData } from './PageData';

/** Properties may be typed in at the moment. */
const SETTLED_MS = 300;

interface LiveProps {
  component: MockupComponent;
  itemProps: Record<string, unknown>;
  drawn: ComponentType<MockupComponentProps>;
}

/** A component with what it asks for, once the address of the page says all that it needs. */
export function LiveComponent(props: LiveProps) {
  const { component, itemProps } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const places = placesIn(itemProps);
  return places.length > 0 ? (
    <div className={styles.state}>
      <strong>{component.title}</strong>
      <Text as="span" color="secondary">
        {t('components.live.needs', {
          parameters: places.map(name => `?${name}=…`).join(', '),
        })}
      </Text>
    </div>
  ) : (
    <Answered {...props} />
  );
}

/** It loads, fails and is empty by itself. */
function Answered({ component, itemProps, drawn: Drawn }: LiveProps) {
  const { t } = useTranslationRef(mockupTranslationRef);
  const pageData = usePageData();
  const [asked, setAsked] = useState(itemProps);
  useDebounce(() => setAsked(itemProps), SETTLED_MS, [itemProps]);
  useEffect(
    () => pageData.show(component, asked),
    [pageData, component, asked],
  );
  const answer = useRead(
    async () => ({
      props: asked,
      data: await pageData.ask(component, asked),
    }),
    [pageData, component, asked],
  );
  const { value, error, loading, retry } = answer;
  if (error) {
    const { title } = component;
    return (
      <Failed
        title={title}
        error={error}
        isRetrying={loading}
        onRetry={retry}
      />
    );
  }
  if (!value) {
    return <Skeleton width="100%" height="100%" />;
  }
  if (component.data?.isEmpty?.(value.data)) {
    const { title } = value.props;
    return (
      <div className={styles.state}>
        <strong>
          {typeof title === 'string' && title ? title : component.title}
        </strong>
        <Text as="span" color="secondary">
          {t('components.live.empty')}
        </Text>
      </div>
    );
  }
  return <Drawn props={value.props} data={value.data} />;
}

function Failed(props: {
  title: string;
  error: Error;
  isRetrying: boolean;
  onRetry: () => void;
}) {
  const { title, error, isRetrying, onRetry } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const textOf = useFailureText();
  const alert = useFocusPassedOn<HTMLDivElement>();
  return (
    <div ref={alert} className={styles.state} role="alert">
      <strong>{title}</strong>
      <span>
        {error instanceof TooManyQuestionsError
          ? t('components.live.tooMany')
          : t('components.live.failed', { message: textOf(error) })}
      </span>
      <Button
        size="small"
        variant="secondary"
        isPending={isRetrying}
        onPress={onRetry}
      >
        {t('components.live.retry')}
      </Button>
    </div>
  );
}
