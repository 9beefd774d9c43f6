declare const brand: unique symbol;

/** A `T` that was checked to be a `Name`. The compiler does not accept any other `T` in its place. */
export type Brand<T, Name extends string> = T & { readonly [brand]: Name };
