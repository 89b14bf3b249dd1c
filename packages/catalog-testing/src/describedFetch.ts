import assert from 'node:assert';

/** What this needs of an OpenAPI document. */
interface Described {
  components: { schemas: Record<string, object> };
  paths: Record<
    string,
    Record<
      string,
      { responses: Record<string, { content?: Record<string, Content> }> }
    >
  >;
}

interface Content {
  schema: object;
}

/** What this needs of a router of Express. */
interface Routes {
  stack: { route?: { path: string; stack: { method: string }[] } }[];
}

const JSON_TYPE = 'application/json';

/**
 * Makes a `fetch` that fails where the answer is none that an OpenAPI document describes.
 *
 * @param options - `base`: the path of the plugin; `parserOf`: makes a parser of a JSON Schema, such
 * as `z.fromJSONSchema`
 */
export function describedFetch(options: {
  base: string;
  document: object;
  parserOf: (schema: any) => { parse(value: unknown): unknown };
}): typeof fetch {
  const { base, parserOf } = options;
  const { components, paths } = JSON.parse(
    JSON.stringify(options.document).replaceAll(
      '#/components/schemas/',
      '#/$defs/',
    ),
  ) as Described;

  return async (input, init = {}) => {
    const response = await fetch(input, init);
    const { method = 'GET' } = init;
    const { pathname } = new URL(String(input));
    const path = pathname.slice(base.length) || '/';
    const [template] = Object.keys(paths)
      .filter(each =>
        new RegExp(`^${each.replace(/\{\w+\}/g, '[^/]+')}$`).test(path),
      )
      // `/mine` comes before `/{slug}`.
      .sort((a, b) => a.split('{').length - b.split('{').length);
    const what = `${method} ${path} with ${response.status}`;
    const operation = paths[template]?.[method.toLowerCase()];
    const answer = operation?.responses[response.status];
    assert(answer, `The document does not describe ${what}`);
    const content = answer.content?.[JSON_TYPE];
    const text = await response.clone().text();
    if (!content) {
      assert.equal(text, '', `The document describes no body of ${what}`);
    } else if (response.headers.get('Content-Type')?.startsWith(JSON_TYPE)) {
      parserOf({ ...content.schema, $defs: components.schemas }).parse(
        JSON.parse(text),
      );
    }
    return response;
  };
}

/** Whether a text fits every pattern in a JSON Schema of texts. */
export function fitsPatterns(schema: object, text: string): boolean {
  return [
    ...JSON.stringify(schema).matchAll(/"pattern":("(?:[^"\\]|\\.)*")/g),
  ].every(([, pattern]) => new RegExp(JSON.parse(pattern), 'u').test(text));
}

/** The routes of a router but for that of the document, such as `get /tenants/{slug}`. */
export function servedRoutes({ stack }: Routes): string[] {
  return stack
    .flatMap(({ route }) =>
      (route?.stack ?? []).map(
        ({ method }) => `${method} ${route!.path.replace(/:(\w+)/g, '{$1}')}`,
      ),
    )
    .filter(route => route !== 'get /openapi.json');
}

/** The routes that an OpenAPI document describes, in the same form. */
export function describedRoutes(document: object): string[] {
  const { paths } = document as Described;
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.keys(item)
      .filter(key => key !== 'parameters')
      .map(method => `${method} ${path}`),
  );
}
