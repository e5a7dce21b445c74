/** Types of maskwell.js; what each name does is said there. */

/** The version of design files that can be read. */
export const VERSION: 1;

/** What is wrong with a file or an answer, in words for a person. */
export class MaskwellError extends Error {}

/** A label in its JSON form: an object with one tag for what JSON has no form for. */
export type Label = string | number | boolean | null | { readonly [tag: string]: unknown };

/** A code from 0 to m - 1; for designs that report sets a string of 0 and 1, first category first. */
export type Report = number | string;

/** An exact fraction, top and bottom; over 0 where it is infinite. */
export type Fraction = [top: bigint, bottom: bigint];

/** Random words of 32 bits, handed out one by one. */
export class Words {
  constructor(row: Iterable<number>, more: ((refill: number) => Iterable<number>) | object);
  next(): number;
  pair(): bigint;
  part(count: number): Words;
}

/** Words of the generator of the browser, the only source for answers of people. */
export function secureWords(count: number): Words;

/** A label as people read it. */
export function textOf(label: Label): string;

/** JSON that is the same string in every language. */
export function canonicalText(value: unknown): string;

/** The name of a design, as Python computes it. */
export function fingerprintOf(content: object): Promise<string>;

/** A design that was read from a file; `readDesign` also checks its fingerprint. */
export class Design {
  constructor(content: object);
  readonly kind: string;
  readonly fingerprint: string;
  readonly inputs: readonly Label[];
  /** Undefined for designs that report sets. */
  readonly outputs: readonly Label[] | undefined;
  /** How many true answers there are. */
  get k(): number;
  /** How many reports there are; undefined for designs that report sets. */
  get m(): number | undefined;
  /** Random words that one draw usually takes. */
  get wordsPerRow(): number;
  code(label: Label): number;
  draw(truth: number, words?: Words): Report;
  randomize(label: Label): Report;
  isReport(report: unknown): report is Report;
  describe(report: Report): string;
  chance(report: Report, truth: number): Fraction;
  parity(): Fraction;
  beliefsAfter(report: Report, before: readonly number[]): number[];
}

/** A design from the content of its file; rejected where the file was changed after it was made. */
export function readDesign(content: unknown): Promise<Design>;
