// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.file;

import java.util.Map;

/**
 * A named entry point: a graph, and names for its inputs and outputs.
 *
 * @param name of the entry point
 * @param graph the index of the graph
 * @param inputs names by index of the tensor
 * @param outputs names by index of the tensor
 */
public record FlatSignature(
    String name, int graph, Map<Integer, String> inputs, Map<Integer, String> outputs) {}
