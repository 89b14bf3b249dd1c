import { MOCKUP_LIMITS } from './limits';

// Not within a word, as in an address of e-mail. A name ends with a letter or digit, so that a
// full stop behind it is none of it.
const MENTION =
  /(?<![\w.@/-])@(?:user:([\w.-]+)\/)?([a-z0-9](?:[\w.-]*[a-z0-9])?)(?![a-z0-9/:])/gi;

/**
 * The users that a comment mentions, as `@user:<namespace>/<name>` or `@<name>`, each once, the
 * first 20 of them, in lower case.
 *
 * @public
 */
export function mentionsOf(
  text: string,
): Array<{ namespace?: string; name: string }> {
  const found = new Map<string, { namespace?: string; name: string }>();
  for (const [, namespace, name] of text
    .toLocaleLowerCase('en-US')
    .matchAll(MENTION)) {
    found.set(`${namespace}/${name}`, {
      ...(namespace && { namespace }),
      name,
    });
  }
  return [...found.values()].slice(0, MOCKUP_LIMITS.mentions);
}
