// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.file;

import java.util.List;
import java.util.Map;

/**
 * A graph as a file has it.
 *
 * @param name for people
 * @param nodes in the order of execution
 * @param constants by name
 * @param inputs values that a caller gives; some of them may be constants too
 * @param outputs values that a caller gets
 * @param values what is said of other values, by name
 */
public record OnnxGraph(
    String name,
    List<OnnxNode> nodes,
    Map<String, OnnxTensor> constants,
    List<OnnxValue> inputs,
    List<OnnxValue> outputs,
    Map<String, OnnxValue> values) {}
