// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model;

import java.util.Optional;

/** The operations of NNAPI 1.0 to 1.3, spelled and numbered as there. */
public enum OperationCode implements OperationType {
  ADD(0),
  AVERAGE_POOL_2D(1),
  CONCATENATION(2),
  CONV_2D(3),
  DEPTHWISE_CONV_2D(4),
  DEPTH_TO_SPACE(5),
  DEQUANTIZE(6),
  EMBEDDING_LOOKUP(7),
  FLOOR(8),
  FULLY_CONNECTED(9),
  HASHTABLE_LOOKUP(10),
  L2_NORMALIZATION(11),
  L2_POOL_2D(12),
  LOCAL_RESPONSE_NORMALIZATION(13),
  LOGISTIC(14),
  LSH_PROJECTION(15),
  LSTM(16),
  MAX_POOL_2D(17),
  MUL(18),
  RELU(19),
  RELU1(20),
  RELU6(21),
  RESHAPE(22),
  RESIZE_BILINEAR(23),
  RNN(24),
  SOFTMAX(25),
  SPACE_TO_DEPTH(26),
  SVDF(27),
  TANH(28),
  BATCH_TO_SPACE_ND(29),
  DIV(30),
  MEAN(31),
  PAD(32),
  SPACE_TO_BATCH_ND(33),
  SQUEEZE(34),
  STRIDED_SLICE(35),
  SUB(36),
  TRANSPOSE(37),
  ABS(38),
  ARGMAX(39),
  ARGMIN(40),
  AXIS_ALIGNED_BBOX_TRANSFORM(41),
  BIDIRECTIONAL_SEQUENCE_LSTM(42),
  BIDIRECTIONAL_SEQUENCE_RNN(43),
  BOX_WITH_NMS_LIMIT(44),
  CAST(45),
  CHANNEL_SHUFFLE(46),
  DETECTION_POSTPROCESSING(47),
  EQUAL(48),
  EXP(49),
  EXPAND_DIMS(50),
  GATHER(51),
  GENERATE_PROPOSALS(52),
  GREATER(53),
  GREATER_EQUAL(54),
  GROUPED_CONV_2D(55),
  HEATMAP_MAX_KEYPOINT(56),
  INSTANCE_NORMALIZATION(57),
  LESS(58),
  LESS_EQUAL(59),
  LOG(60),
  LOGICAL_AND(61),
  LOGICAL_NOT(62),
  LOGICAL_OR(63),
  LOG_SOFTMAX(64),
  MAXIMUM(65),
  MINIMUM(66),
  NEG(67),
  NOT_EQUAL(68),
  PAD_V2(69),
  POW(70),
  PRELU(71),
  QUANTIZE(72),
  QUANTIZED_16BIT_LSTM(73),
  RANDOM_MULTINOMIAL(74),
  REDUCE_ALL(75),
  REDUCE_ANY(76),
  REDUCE_MAX(77),
  REDUCE_MIN(78),
  REDUCE_PROD(79),
  REDUCE_SUM(80),
  ROI_ALIGN(81),
  ROI_POOLING(82),
  RSQRT(83),
  SELECT(84),
  SIN(85),
  SLICE(86),
  SPLIT(87),
  SQRT(88),
  TILE(89),
  TOPK_V2(90),
  TRANSPOSE_CONV_2D(91),
  UNIDIRECTIONAL_SEQUENCE_LSTM(92),
  UNIDIRECTIONAL_SEQUENCE_RNN(93),
  RESIZE_NEAREST_NEIGHBOR(94),
  QUANTIZED_LSTM(95),
  IF(96),
  WHILE(97),
  ELU(98),
  HARD_SWISH(99),
  FILL(100),
  RANK(101);

  /** Without a gap, so that a code is an index. */
  private static final OperationCode[] BY_CODE = values();

  private final int code;

  OperationCode(int code) {
    this.code = code;
  }

  /** NNAPI's number. */
  public int code() {
    return code;
  }

  @Override
  public String text() {
    return name();
  }

  /** The operation with this number, or empty where NNAPI 1.3 has none. */
  public static Optional<OperationCode> ofCode(int code) {
    return code < 0 || code >= BY_CODE.length ? Optional.empty() : Optional.of(BY_CODE[code]);
  }
}
