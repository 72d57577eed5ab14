// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import io.thalamus.model.OperationType;
import io.thalamus.model.Shape;
import io.thalamus.operations.FunctionDefinition.Step;
import java.util.Arrays;
import java.util.List;

/**
 * The definitions of operations on single elements of one tensor, input 0, or of two that are
 * broadcast, inputs 0 and 1. They are {@link Trait#ELEMENTWISE}.
 */
public final class ElementwiseDefinition {
  private ElementwiseDefinition() {}

  /** Returns the definition of an operation without parameters. */
  public static FunctionDefinition of(OperationType type, Signature signature, Trait... traits) {
    return of(type, signature, null, traits);
  }

  /**
   * Returns the definition of an operation.
   *
   * @param parameters null for none
   */
  public static FunctionDefinition of(
      OperationType type,
      Signature signature,
      Step<? extends OperationParameters> parameters,
      Trait... traits) {
    Trait[] all = Arrays.copyOf(traits, traits.length + 1);
    all[traits.length] = Trait.ELEMENTWISE;
    return new FunctionDefinition(type, signature, ElementwiseDefinition::shapes, parameters, all)
        .checkedBy(
            (operation, check) -> {
              if (isPair(operation) && NamedDefinition.areShapesKnown(operation, 0, 1)) {
                shapes(operation);
              }
            });
  }

  private static boolean isPair(OperationView operation) {
    return operation.inputs().size() > 1 && operation.input(1).type().isTensor();
  }

  private static List<Shape> shapes(OperationView operation) throws ValidationException {
    Shape first = operation.input(0).shape();
    return List.of(isPair(operation) ? Broadcast.shape(first, operation.input(1).shape()) : first);
  }
}
