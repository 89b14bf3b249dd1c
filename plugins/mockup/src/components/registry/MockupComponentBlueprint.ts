import type { Entity } from '@backstage/catalog-model';
import {
  type ApiHolder,
  createApiRef,
  createExtensionBlueprint,
  createExtensionBlueprintParams,
  createExtensionDataRef,
} from '@backstage/frontend-plugin-api';
import type { JsonObject } from '@backstage/types';
import type { ComponentType, JSX } from 'react';

/**
 * What a component of mockups is given to draw.
 *
 * @public
 */
export interface MockupComponentProps<
  TProps extends object = Record<string, unknown>,
  TData = unknown,
> {
  /** The properties of the layout item. They fit the schema of the component. */
  props: TProps;
  /** What the `data.query` of the component has found. */
  data: TData;
}

/**
 * Where components ask for data, with the rights of the reader.
 *
 * @public
 */
export interface MockupDataSources {
  /** The APIs of the app, such as `catalogApiRef`. */
  apis: ApiHolder;
  /**
   * Gets an entity of the catalog, or `undefined` where there is none for the reader. Those that
   * the items of a layout ask for at the same time are one request, and each is asked for once.
   */
  entity(entityRef: string): Promise<Entity | undefined>;
}

/**
 * The data of a component.
 *
 * @public
 */
export interface MockupComponentData<
  TProps extends object = Record<string, unknown>,
  TData = unknown,
> {
  /**
   * Asks for what an item shows. Items of one layout with the same properties ask once. Where it
   * rejects, the box of the item says why, and offers to try again.
   */
  query: (props: TProps, sources: MockupDataSources) => Promise<TData>;
  /** Whether there is nothing to show, which the box of the item then says. */
  isEmpty?: (data: TData) => boolean;
}

/**
 * A component that mockups are laid out of.
 *
 * @public
 */
export interface MockupComponent<
  TProps extends object = Record<string, unknown>,
  TData = unknown,
> {
  /**
   * How layout items name it, in their field `component`. Saved versions keep the name for
   * ever: it never changes.
   */
  name: string;
  /** How people call it, in the palette. */
  title: string;
  /** 20 pixels wide and high. */
  icon?: JSX.Element;
  /** JSON schema (draft-07) of its properties, an object. The form of the editor is made of it. */
  schema: JsonObject;
  /** The properties of a new item. */
  defaultProps: TProps;
  /** The size of a new item, in columns (of 12) and rows (of 30 pixels). */
  defaultSize: { w: number; h: number };
  /** What it shows beside its properties, asked for each time that a layout is opened. */
  data?: MockupComponentData<TProps, TData>;
  /** Loads what draws it, when the first item of it is drawn. */
  loader: () => Promise<ComponentType<MockupComponentProps<TProps, TData>>>;
}

/** Carries a component from its extension to the registry. */
export const mockupComponentDataRef =
  createExtensionDataRef<MockupComponent>().with({ id: 'mockup.component' });

/**
 * An extension that adds a component to the mockups.
 *
 * @public
 */
export const MockupComponentBlueprint = createExtensionBlueprint({
  kind: 'mockup-component',
  attachTo: { id: 'api:mockup/components', input: 'components' },
  output: [mockupComponentDataRef],
  dataRefs: { component: mockupComponentDataRef },
  defineParams: <TProps extends object, TData = unknown>(
    params: MockupComponent<TProps, TData>,
  ) =>
    // It is drawn with properties alone that fit its schema, and with what it has asked for.
    createExtensionBlueprintParams(params as unknown as MockupComponent),
  *factory(params) {
    yield mockupComponentDataRef(params);
  },
});

/** The extension of a component that comes with the plugin. */
export function extensionOf<TProps extends object, TData = unknown>(
  component: MockupComponent<TProps, TData>,
) {
  return MockupComponentBlueprint.make({
    name: component.name,
    params: define => define(component),
  });
}

/**
 * The components that mockups are laid out of.
 *
 * @public
 */
export interface MockupComponentsApi {
  /** All of them, in the order of the palette. */
  list(): readonly MockupComponent[];
  /** The one that layout items name so. */
  get(name: string): MockupComponent | undefined;
}

/**
 * The registry of components. Extensions add to it by {@link MockupComponentBlueprint}.
 *
 * @public
 */
export const mockupComponentsApiRef = createApiRef<MockupComponentsApi>({
  id: 'plugin.mockup.components',
});

/**
 * Collects the components of extensions.
 *
 * @throws Error, where two have the same name: which of them draws the saved mockups must
 * not depend on the order of extensions
 */
export function collectComponents(
  found: readonly { extension: string; component: MockupComponent }[],
): MockupComponentsApi {
  const byName = new Map<string, (typeof found)[number]>();
  for (const each of found) {
    const { name } = each.component;
    const other = byName.get(name);
    if (other) {
      throw new Error(
        `Two extensions define the mockup component "${name}": ${other.extension} and ` +
          `${each.extension}. Give one of them another name, or disable one under ` +
          `app.extensions, for example "- ${other.extension}: false".`,
      );
    }
    byName.set(name, each);
  }
  const all = found.map(({ component }) => component);
  return {
    list: () => all,
    get: name => byName.get(name)?.component,
  };
}
