// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import io.thalamus.model.ExtensionOperationType;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.operations.extension.ThalamusExtension;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The operations of NNAPI and of {@link ThalamusExtension}. A family is defined when one of its
 * operations is looked for: to define all takes longer than to compile a small model. Thread-safe.
 */
final class StandardOperations {
  private final Set<OperationType> types = new HashSet<>(List.of(OperationCode.values()));
  private final Map<OperationType, OperationDefinition> defined = new ConcurrentHashMap<>();

  StandardOperations() {
    types.addAll(ThalamusExtension.types());
  }

  Set<OperationType> types() {
    return Collections.unmodifiableSet(types);
  }

  /** Returns the definition of an operation, or null where it is none of these. */
  OperationDefinition find(OperationType type) {
    OperationDefinition found = defined.get(type);
    if (found == null && types.contains(type)) {
      for (OperationDefinition definition : family(type)) {
        defined.putIfAbsent(definition.type(), definition);
      }
      found = defined.get(type);
    }
    return found;
  }

  /** Returns the definitions of an operation and of those that are defined with it. */
  static List<OperationDefinition> family(OperationType type) {
    return switch (type) {
      case OperationCode code -> family(code);
      case ExtensionOperationType own -> ThalamusExtension.family(own);
    };
  }

  private static List<OperationDefinition> family(OperationCode code) {
    return switch (code) {
      case ELU, HARD_SWISH, LOGISTIC, PRELU, RELU, RELU1, RELU6, TANH -> Activation.definitions();
      case EQUAL, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL, LOGICAL_AND, LOGICAL_OR, NOT_EQUAL ->
          Comparison.definitions();
      case IF, WHILE -> ControlFlow.definitions();
      case CONV_2D, DEPTHWISE_CONV_2D, GROUPED_CONV_2D, TRANSPOSE_CONV_2D ->
          Convolution.definitions();
      case AXIS_ALIGNED_BBOX_TRANSFORM,
          BOX_WITH_NMS_LIMIT,
          DETECTION_POSTPROCESSING,
          GENERATE_PROPOSALS ->
          Detection.definitions();
      case ADD, DIV, MAXIMUM, MINIMUM, MUL, POW, SUB -> Elementwise.definitions();
      case LSH_PROJECTION -> LshProjection.definitions();
      case BIDIRECTIONAL_SEQUENCE_LSTM, LSTM, UNIDIRECTIONAL_SEQUENCE_LSTM -> Lstm.definitions();
      case FULLY_CONNECTED -> MatrixMultiply.definitions();
      case INSTANCE_NORMALIZATION, L2_NORMALIZATION, LOCAL_RESPONSE_NORMALIZATION ->
          Normalization.definitions();
      case AVERAGE_POOL_2D, L2_POOL_2D, MAX_POOL_2D -> Pooling.definitions();
      case CAST, DEQUANTIZE, QUANTIZE -> Quantize.definitions();
      case QUANTIZED_16BIT_LSTM, QUANTIZED_LSTM -> QuantizedLstm.definitions();
      case RANDOM_MULTINOMIAL -> RandomMultinomial.definitions();
      case CHANNEL_SHUFFLE, CONCATENATION, PAD, PAD_V2, SPLIT, TILE, TRANSPOSE ->
          Rearrange.definitions();
      case BIDIRECTIONAL_SEQUENCE_RNN, RNN, SVDF, UNIDIRECTIONAL_SEQUENCE_RNN ->
          Recurrent.definitions();
      case MEAN, REDUCE_ALL, REDUCE_ANY, REDUCE_MAX, REDUCE_MIN, REDUCE_PROD, REDUCE_SUM ->
          Reduction.definitions();
      case HEATMAP_MAX_KEYPOINT, ROI_ALIGN, ROI_POOLING -> Regions.definitions();
      case EXPAND_DIMS, FILL, RANK, RESHAPE, SQUEEZE -> Reshape.definitions();
      case RESIZE_BILINEAR, RESIZE_NEAREST_NEIGHBOR -> Resize.definitions();
      case ARGMAX, ARGMIN, SELECT, TOPK_V2 -> Selection.definitions();
      case EMBEDDING_LOOKUP, GATHER, HASHTABLE_LOOKUP, SLICE, STRIDED_SLICE -> Slice.definitions();
      case LOG_SOFTMAX, SOFTMAX -> Softmax.definitions();
      case BATCH_TO_SPACE_ND, DEPTH_TO_SPACE, SPACE_TO_BATCH_ND, SPACE_TO_DEPTH ->
          SpaceDepthBatch.definitions();
      case ABS, EXP, FLOOR, LOG, LOGICAL_NOT, NEG, RSQRT, SIN, SQRT -> UnaryMath.definitions();
    };
  }
}
