// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.mutation;

import io.thalamus.tck.reference.Evaluator;
import io.thalamus.vectors.RawOperation;

/**
 * The operations that one argument more or less leaves legal, so that it is no fault. The lists are
 * those of AOSP, held against the signatures of NN HAL 1.3.
 */
final class Signatures {
  private Signatures() {}

  /** Returns whether the operation is legal without this input, too. */
  static boolean isRemovable(RawOperation operation, int input) {
    int inputs = operation.inputs().size();
    return switch (Evaluator.standard(operation.type())) {
      // Any number of tensors, then the axis.
      case "CONCATENATION" -> inputs > 2 && input != inputs - 1;
      // The last dilation behind a layout, or the layout itself.
      case "DEPTHWISE_CONV_2D" -> last(input, inputs, 9, 12);
      case "CONV_2D", "AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D" -> last(input, inputs, 8, 11);
      case "RESIZE_BILINEAR" -> inputs >= 4 && input >= 3;
      case "RESIZE_NEAREST_NEIGHBOR" -> inputs >= 5 && input >= 3;
      case "SPACE_TO_DEPTH", "DEPTH_TO_SPACE", "BATCH_TO_SPACE_ND" -> last(input, inputs, 3);
      case "SPACE_TO_BATCH_ND" -> last(input, inputs, 4);
      case "L2_NORMALIZATION" -> last(input, inputs, 2);
      case "LOCAL_RESPONSE_NORMALIZATION" -> last(input, inputs, 6);
      case "SOFTMAX" -> last(input, inputs, 3);
      default -> false;
    };
  }

  private static boolean last(int input, int inputs, int... counts) {
    for (int count : counts) {
      if (inputs == count && input == count - 1) {
        return true;
      }
    }
    return false;
  }

  /** Returns whether an INT32 behind the last input is an optional axis or the like. */
  static boolean takesAnotherInt32(RawOperation operation) {
    int inputs = operation.inputs().size();
    return switch (operation.type()) {
      case "L2_NORMALIZATION" -> inputs == 1;
      case "LOCAL_RESPONSE_NORMALIZATION" -> inputs == 5;
      case "SOFTMAX" -> inputs == 2;
      case "RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR" -> inputs < 6;
      default -> false;
    };
  }

  /** Returns whether the number of outputs depends on values, or on what the caller wants. */
  static boolean hasOptionalOutputs(RawOperation operation) {
    return switch (operation.type()) {
      case "SPLIT",
          "UNIDIRECTIONAL_SEQUENCE_LSTM",
          "UNIDIRECTIONAL_SEQUENCE_RNN",
          "BIDIRECTIONAL_SEQUENCE_LSTM",
          "BIDIRECTIONAL_SEQUENCE_RNN" ->
          true;
      default -> false;
    };
  }
}
