const MOST_PROBLEMS = 5;
const LONGEST_VALUE = 60;
const LONGEST_PATH = 240;

/** What zod says of a bad value; its message continues "must be". */
export interface Issue {
  code?: string;
  path: PropertyKey[];
  message: string;
  keys?: string[];
}

/**
 * Names each bad value of an input, and the form that was expected.
 *
 * @param path - where the input is within what the caller sent
 */
export function describeIssues(
  issues: Issue[],
  input: unknown,
  path: PropertyKey[] = [],
): string {
  return joinFirst(issues, issue => describe(issue, input, path), '; ');
}

function describe(issue: Issue, input: unknown, path: PropertyKey[]): string {
  const place = formatPath([...path, ...issue.path]);
  if (issue.code === 'unrecognized_keys') {
    const keys = joinFirst(issue.keys ?? [], formatValue, ', ');
    return `unknown field ${keys}${place && ` in ${place}`}`;
  }
  const value = issue.path.reduce<unknown>(valueAt, input);
  const subject = place || 'it';
  return value === undefined
    ? `${subject} is missing, expected ${issue.message}`
    : `${subject} must be ${issue.message}, got ${formatValue(value)}`;
}

/** Keeps an error short, however much is wrong with an input. */
function joinFirst<T>(
  problems: T[],
  format: (problem: T) => string,
  separator: string,
): string {
  const shown = problems.slice(0, MOST_PROBLEMS).map(format);
  if (problems.length > shown.length) {
    shown.push(`and ${problems.length - shown.length} more`);
  }
  return shown.join(separator);
}

function valueAt(parent: unknown, key: PropertyKey): unknown {
  return typeof parent === 'object' && parent !== null
    ? Reflect.get(parent, key)
    : undefined;
}

/** Callers choose the keys of `props`: any length, any characters. */
function formatPath(path: PropertyKey[]): string {
  const text = path.reduce<string>((parent, key) => {
    if (typeof key === 'number') {
      return `${parent}[${key}]`;
    }
    const name = String(key);
    if (!/^[\w$-]{1,60}$/.test(name)) {
      return `${parent}[${formatValue(name)}]`;
    }
    return parent ? `${parent}.${name}` : name;
  }, '');
  return text.length > LONGEST_PATH ? `${text.slice(0, LONGEST_PATH)}…` : text;
}

// Not objects and lists: a caller may nest values of any size and depth in them.
function formatValue(value: unknown): string {
  if (Array.isArray(value)) {
    return 'a list';
  }
  if (typeof value === 'object' && value !== null) {
    return 'an object';
  }
  if (typeof value === 'string' && value.length > LONGEST_VALUE) {
    return `${JSON.stringify(value.slice(0, LONGEST_VALUE))}… (${
      Array.from(value).length
    } characters)`;
  }
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}
