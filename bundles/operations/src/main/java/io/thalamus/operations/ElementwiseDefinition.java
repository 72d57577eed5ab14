// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import io.thalamus.model.OperationType;
import io.thalamus.model.Shape;
import java.util.Arrays;
import java.util.List;

/**
 * The definition of an operation on single elements of one tensor, input 0, or of two that are
 * broadcast, inputs 0 and 1. Stateless.
 */
public class ElementwiseDefinition extends NamedDefinition {
  /** The definition of this operation, which is {@link Trait#ELEMENTWISE}. */
  protected ElementwiseDefinition(OperationType type, Signature signature, Trait... traits) {
    super(type, signature, with(traits));
  }

  private static Trait[] with(Trait[] traits) {
    Trait[] all = Arrays.copyOf(traits, traits.length + 1);
    all[traits.length] = Trait.ELEMENTWISE;
    return all;
  }

  /** Returns the definition of an operation without parameters. */
  public static OperationDefinition of(OperationType type, Signature signature, Trait... traits) {
    return new ElementwiseDefinition(type, signature, traits);
  }

  private static boolean isPair(OperationView operation) {
    return operation.inputs().size() > 1 && operation.input(1).type().isTensor();
  }

  @Override
  public void check(OperationView operation, Check check) throws ValidationException {
    if (isPair(operation) && areShapesKnown(operation, 0, 1)) {
      infer(operation);
    }
  }

  @Override
  public final List<Shape> infer(OperationView operation) throws ValidationException {
    Shape first = operation.input(0).shape();
    return List.of(isPair(operation) ? Broadcast.shape(first, operation.input(1).shape()) : first);
  }
}
