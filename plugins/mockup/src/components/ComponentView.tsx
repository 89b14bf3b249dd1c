import { useApi, useTranslationRef } from '@backstage/frontend-plugin-api';
import { messageOf, Skeleton } from '@internal/pages';
import {
  type LayoutItem,
  withoutPhonePlace,
} from 'backstage-plugin-mockup-common';
import { type ComponentType, lazy, memo, Suspense, useMemo } from 'react';
import { ErrorBoundary } from 'react-error-boundary';
import { mockupTranslationRef } from '../translation';
import styles from './ComponentView.module.css';
import { LiveComponent } from './live/LiveComponent';
import {
  type MockupComponent,
  type MockupComponentProps,
  mockupComponentsApiRef,
} from './registry/MockupComponentBlueprint';
import { propsProblem } from './registry/propsProblem';

/** For what only shows how it looks. React 18 knows no `inert` yet. */
export const INERT = { inert: '' };

/**
 * What a layout item looks like, in all of the room that is around it. It never throws: where
 * it cannot be drawn, a box says why.
 */
export const ComponentView = memo(function MemoizedComponentView(
  props: Pick<LayoutItem, 'component' | 'props'>,
) {
  const { component: name } = props;
  const itemProps = useMemo(
    () => withoutPhonePlace(props.props),
    [props.props],
  );
  const { t } = useTranslationRef(mockupTranslationRef);
  const component = useApi(mockupComponentsApiRef).get(name);
  if (!component) {
    return <Placeholder title={name} text={t('components.drawing.unknown')} />;
  }
  const problem = problemOf(component, itemProps);
  if (problem) {
    return (
      <Placeholder
        title={component.title}
        text={t('components.drawing.misfit', { problem })}
      />
    );
  }
  const Drawn = lazyOf(component);
  return (
    <ErrorBoundary
      // What is changed is tried again.
      resetKeys={[itemProps]}
      fallbackRender={({ error }) => (
        <Placeholder
          title={component.title}
          text={t('components.drawing.failed', { message: messageOf(error) })}
        />
      )}
    >
      <Suspense fallback={<Skeleton width="100%" height="100%" />}>
        {component.data ? (
          <LiveComponent
            component={component}
            itemProps={itemProps}
            drawn={Drawn}
          />
        ) : (
          <Drawn props={itemProps} data={undefined} />
        )}
      </Suspense>
    </ErrorBoundary>
  );
});

function problemOf(
  { schema }: MockupComponent,
  props: unknown,
): string | undefined {
  try {
    return propsProblem(schema, props);
  } catch (error) {
    return `schema: ${messageOf(error)}`;
  }
}

const lazies = new WeakMap<
  MockupComponent,
  ComponentType<MockupComponentProps>
>();

function lazyOf(
  component: MockupComponent,
): ComponentType<MockupComponentProps> {
  let found = lazies.get(component);
  if (!found) {
    found = lazy(async () => {
      try {
        return { default: await component.loader() };
      } catch (error) {
        // Otherwise no later drawing would ask for it again.
        lazies.delete(component);
        throw error;
      }
    });
    lazies.set(component, found);
  }
  return found;
}

/** A box in the place of what cannot be drawn. */
function Placeholder(props: { title: string; text: string }) {
  return (
    <div className={styles.placeholder} title={props.text}>
      <strong>{props.title}</strong>
      <span>{props.text}</span>
    </div>
  );
}
