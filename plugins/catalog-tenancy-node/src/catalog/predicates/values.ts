import type { Knex } from 'knex';

/** The collation by which PostgreSQL lower-cases the way that JavaScript does. */
export const UNICODE_COLLATION = 'und-x-icu';

/** As the search table of the stock catalog: longer values count as null. */
export const MAX_VALUE_LENGTH = 200;
/** As the search table of the stock catalog: longer keys are not there at all. */
export const MAX_KEY_LENGTH = 200;

// Beyond these JavaScript knows numbers as Infinity and 0, and PostgreSQL refuses
// to make a double of them.
const INFINITY = '1.797693134862315808e308';
const ZERO = '2.4703282292062328e-324';

/**
 * How values are turned into text and compared.
 *
 * The stock catalog lower-cases in JavaScript, what it stores and what it is asked
 * for. Here PostgreSQL lower-cases what is stored. `lower()` leaves letters as they
 * are or not, depending on the collation; ICU's one follows the Unicode rules, as
 * JavaScript does (final sigma, dotted capital I).
 */
export class ValueText {
  readonly #knex: Knex;
  readonly #unicode: boolean;

  /** @param options - `unicode` if the server has {@link UNICODE_COLLATION} */
  constructor(knex: Knex, options: { unicode: boolean }) {
    this.#knex = knex;
    this.#unicode = options.unicode;
  }

  lower(text: Knex.Raw): Knex.Raw {
    return this.#unicode
      ? this.#knex.raw('lower((?) collate ??)', [text, UNICODE_COLLATION])
      : this.#knex.raw('lower(?)', [text]);
  }

  /**
   * What `String(value).toLowerCase()` is of a JSON value; null for null, and for
   * what is no primitive.
   */
  ofJson(node: Knex.Raw): Knex.Raw {
    return this.#knex.raw(
      `case jsonb_typeof(?) when 'string' then ? when 'number' then ? when 'boolean' then (?)::text end`,
      [
        node,
        this.lower(this.#knex.raw(`(?) #>> '{}'`, [node])),
        this.#ofNumber(this.#knex.raw('(?)::numeric', [node])),
        node,
      ],
    );
  }

  /** Null for what is longer than {@link MAX_VALUE_LENGTH} in JavaScript's count. */
  bounded(text: Knex.Raw): Knex.Raw {
    // A character beyond the basic plane counts as two. The count of bytes is never
    // less than that of JavaScript, and is at hand.
    return this.#knex.raw(
      `case when octet_length(?) <= ${MAX_VALUE_LENGTH} or (
         char_length(?) <= ${MAX_VALUE_LENGTH} and
         2 * char_length(?) - char_length(regexp_replace(?, '[\\U00010000-\\U0010ffff]', '', 'g')) <= ${MAX_VALUE_LENGTH}
       ) then ? end`,
      [text, text, text, text, text],
    );
  }

  /**
   * The shortest digits that make the same double, as both PostgreSQL and
   * JavaScript choose them. Only their forms differ: JavaScript has no exponent
   * from 1e-6 to 1e21, and no zero before the one digit of an exponent.
   */
  #ofNumber(number: Knex.Raw): Knex.Raw {
    return this.#knex.raw(
      `case
         when abs(?) >= ${INFINITY} then case when ? < 0 then '-infinity' else 'infinity' end
         when abs(?) <= ${ZERO} then '0'
         when abs((?)::float8) >= 1e-6 and abs((?)::float8) < 1e21 then ((?)::float8)::text::numeric::text
         else regexp_replace(((?)::float8)::text, 'e([+-])0', 'e\\1')
       end`,
      [number, number, number, number, number, number, number],
    );
  }
}

/**
 * What a value of a filter is compared as; nothing if no entity can have it.
 */
export function comparable(value: string | number | boolean): string[] {
  const text = String(value).toLowerCase();
  return text.length <= MAX_VALUE_LENGTH && isStorable(text) ? [text] : [];
}

/** PostgreSQL stores no NUL, and no half of a character. */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && Buffer.from(text).toString() === text;
}
