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

/** An answer, as a client has it. */
interface Answer {
  status: number;
  /** Its `Content-Type`. */
  type: string | null | undefined;
  text: string;
}

/**
 * Makes a check that throws where an answer is none that an OpenAPI document describes.
 *
 * @param options - `base`: the path of the plugin; `parserOf`: makes a parser of a JSON Schema, such
 * as `z.fromJSONSchema`
 */
export function describedAnswers(options: {
  base: string;
  document: object;
  parserOf: (schema: any) => { parse(value: unknown): unknown };
}): (method: string, pathname: string, answer: Answer) => void {
  const { base, parserOf } = options;
  const { components, paths } = JSON.parse(
    JSON.stringify(options.document).replaceAll(
      '#/components/schemas/',
      '#/$defs/',
    ),
  ) as Described;

  return (method, pathname, { status, type, text }) => {
    const path = pathname.slice(base.length) || '/';
    const [template] = Object.keys(paths)
      .filter(each =>
        new RegExp(`^${each.replace(/\{\w+\}/g, '[^/]+')}$`).test(path),
      )
      // `/mine` comes before `/{slug}`.
      .sort((a, b) => a.split('{').length - b.split('{').length);
    const what = `${method} ${path} with ${status}`;
    const operation = paths[template]?.[method.toLowerCase()];
    const described = operation?.responses[status];
    // Not by `node:assert`, whose errors supertest takes for none within Jest.
    if (!described) {
      throw new Error(`The document does not describe ${what}`);
    }
    const content = described.content?.[JSON_TYPE];
    if (!content && text) {
      throw new Error(`The document describes no body of ${what}`);
    }
    if (content && /^application\/json\b/.test(type ?? '')) {
      parserOf({ ...content.schema, $defs: components.schemas }).parse(
        JSON.parse(text),
      );
    }
  };
}

/** Makes a `fetch` that fails where the answer is none that an OpenAPI document describes. */
export function describedFetch(
  options: Parameters<typeof describedAnswers>[0],
): typeof fetch {
  const check = describedAnswers(options);
  return async (input, init = {}) => {
    const response = await fetch(input, init);
    const { status, headers } = response;
    check(init.method ?? 'GET', new URL(String(input)).pathname, {
      status,
      type: headers.get('Content-Type'),
      text: await response.clone().text(),
    });
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
