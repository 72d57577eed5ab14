// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.mutation;

import io.thalamus.vectors.Example;
import java.util.Objects;
import java.util.function.Consumer;

/** One fault that can be put into one example. Immutable; applied as often as one likes. */
public final class Mutation {
  private final Example original;
  private final String description;
  private final Consumer<Draft> edit;

  Mutation(Example original, String description, Consumer<Draft> edit) {
    this.original = Objects.requireNonNull(original, "original");
    this.description = Objects.requireNonNull(description, "description");
    this.edit = Objects.requireNonNull(edit, "edit");
  }

  /** The valid example that this mutates. */
  public Example original() {
    return original;
  }

  /** The place of the fault and the fault, in one line. */
  public String description() {
    return description;
  }

  /** The mutated example. */
  public RawPreparation apply() {
    Draft draft = new Draft(original);
    edit.accept(draft);
    return draft.finish();
  }
}
