declare const brand: unique symbol;

/** A value of `T` that has been checked to be a `Name`, and cannot be mistaken for any other `T`. */
export type Brand<T, Name extends string> = T & { readonly [brand]: Name };
