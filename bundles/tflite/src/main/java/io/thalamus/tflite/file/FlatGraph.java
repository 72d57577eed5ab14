// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.file;

import java.util.List;

/**
 * A subgraph as the file describes it. All indexes are within bounds. The arrays must not be
 * changed.
 *
 * @param index in the file; 0 is the main one
 * @param tensors all values
 * @param inputs indexes of tensors
 * @param outputs indexes of tensors
 * @param operators in the order of execution
 */
public record FlatGraph(
    int index,
    List<FlatTensor> tensors,
    int[] inputs,
    int[] outputs,
    List<FlatOperator> operators) {}
