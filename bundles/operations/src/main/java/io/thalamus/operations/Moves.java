// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.operations.extension.ThalamusExtension;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * The parameters of an operation that only moves elements, whatever their type: first all outputs
 * are filled where the operation fills, then each part is copied.
 *
 * @param fill the bits of the element that stands where no part writes; empty where the parts write
 *     everything
 * @param parts the copies
 */
public record Moves(OptionalInt fill, List<Part> parts) implements OperationParameters {
  public Moves {
    parts = List.copyOf(parts);
  }

  /** Returns the operations that move elements of input 0, and else take values alone. */
  public static List<OperationType> operations() {
    return List.of(
        OperationCode.PAD,
        OperationCode.PAD_V2,
        OperationCode.TRANSPOSE,
        OperationCode.SLICE,
        OperationCode.STRIDED_SLICE,
        OperationCode.CHANNEL_SHUFFLE,
        OperationCode.DEPTH_TO_SPACE,
        OperationCode.SPACE_TO_DEPTH,
        OperationCode.BATCH_TO_SPACE_ND,
        OperationCode.SPACE_TO_BATCH_ND,
        OperationCode.TILE,
        OperationCode.SPLIT,
        ThalamusExtension.MIRROR_PAD,
        ThalamusExtension.REVERSE,
        ThalamusExtension.AS_STRIDED);
  }

  /** A single copy from input 0 to output 0, which it fills. */
  static Moves of(StridedCopy copy) {
    return new Moves(OptionalInt.empty(), List.of(new Part(0, 0, copy, Optional.empty())));
  }

  /**
   * Returns true if the only output has all elements of input 0, in the same order: a transposition
   * of one column, a slice of everything.
   *
   * @param operation whose parameters these are
   */
  public boolean isIdentity(OperationView operation) {
    long elements = operation.input(0).shape().elementCount();
    return operation.outputs().size() == 1
        && operation.output().shape().elementCount() == elements
        && parts.size() == 1
        && parts.getFirst().input() == 0
        && parts.getFirst().rescaling().isEmpty()
        && parts.getFirst().copy().isWhole(elements);
  }

  /**
   * One copy.
   *
   * @param input index of the input that is read
   * @param output index of the output that is written
   * @param copy the elements
   * @param rescaling what happens to the elements on the way; empty where they stay what they are
   */
  public record Part(int input, int output, StridedCopy copy, Optional<LookupTable> rescaling) {}
}
