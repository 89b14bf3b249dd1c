import type { JsonObject, JsonValue } from '@backstage/types';
import type { CatalogConfig } from 'backstage-plugin-tenants-common';
import { isMap, isSeq, parseDocument, stringify } from 'yaml';

/** A location of a configuration, as the form shows it. */
export interface ConfiguredLocation {
  target: string;
  /** The kinds that its rules allow; none where they are not of the form of {@link addLocation}. */
  kinds: string[];
}

/** What a text says. */
type ParsedConfig =
  | { config: CatalogConfig; problem?: undefined }
  | { config?: undefined; problem: { line: number; message: string } };

const LOCATIONS = ['catalog', 'locations'];

/** A configuration as the user edits it: YAML, without empty sections. */
export function toText(config: CatalogConfig): string {
  const { catalog, integrations, plugins } = config;
  const sections = Object.entries({ catalog, integrations, plugins }).filter(
    ([, section]) => section && Object.keys(section).length > 0,
  );
  return sections.length > 0 ? stringify(Object.fromEntries(sections)) : '';
}

/**
 * Reads what the user has typed. Whether the configuration is valid is for the backend, which
 * says so in words that name the property.
 */
export function parseText(text: string): ParsedConfig {
  const document = parseDocument(text);
  const [error] = document.errors;
  if (error) {
    return {
      problem: {
        line: error.linePos?.[0].line ?? 1,
        // Without the excerpt, which the field shows.
        message: error.message.split(' at line ')[0],
      },
    };
  }
  try {
    return { config: document.toJS() ?? {} };
  } catch (cause) {
    // Aliases that grow without end.
    return { problem: { line: 1, message: (cause as Error).message } };
  }
}

/** The locations of a configuration, of which nothing is known to be valid. */
export function locationsOf(config: CatalogConfig): ConfiguredLocation[] {
  const locations =
    isObject(config) && isObject(config.catalog)
      ? config.catalog.locations
      : undefined;
  return Array.isArray(locations) ? locations.map(toLocation) : [];
}

/** Adds a location to a valid text, which otherwise stays as it was typed. */
export function addLocation(
  text: string,
  { target, kinds }: { target: string; kinds: string[] },
): string {
  const document = parseDocument(text);
  const location = document.createNode({
    type: 'url',
    target,
    ...(kinds.length > 0 && { rules: [{ allow: kinds }] }),
  });
  if (isSeq(document.getIn(LOCATIONS))) {
    document.addIn(LOCATIONS, location);
  } else {
    if (!isMap(document.get('catalog'))) {
      document.set('catalog', document.createNode({}));
    }
    document.setIn(LOCATIONS, document.createNode([location]));
  }
  return String(document);
}

/** Removes the location at an index from a valid text. */
export function removeLocation(text: string, index: number): string {
  const document = parseDocument(text);
  document.deleteIn([...LOCATIONS, index]);
  const rest = document.getIn(LOCATIONS);
  if (isSeq(rest) && rest.items.length === 0) {
    document.deleteIn(LOCATIONS);
    const catalog = document.get('catalog');
    if (isMap(catalog) && catalog.items.length === 0) {
      document.delete('catalog');
    }
  }
  const config = document.toJS() ?? {};
  return Object.keys(config).length > 0 ? String(document) : '';
}

/** The index of the location that an error of the backend names. */
export function locationIn(message: string): number | undefined {
  const index = message.match(/catalog\.locations(?:\[|\.)(\d+)/)?.[1];
  return index === undefined ? undefined : Number(index);
}

function toLocation(value: JsonValue | undefined): ConfiguredLocation {
  const location = isObject(value) ? value : {};
  const rules = Array.isArray(location.rules) ? location.rules : [];
  return {
    target: String(location.target ?? ''),
    kinds: rules.flatMap(rule =>
      isObject(rule) && Array.isArray(rule.allow)
        ? rule.allow.filter((kind): kind is string => typeof kind === 'string')
        : [],
    ),
  };
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
