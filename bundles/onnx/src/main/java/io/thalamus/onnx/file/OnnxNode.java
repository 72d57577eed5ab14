// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.file;

import java.util.List;
import java.util.Map;

/**
 * One operator of a graph.
 *
 * @param name for people; may be empty
 * @param type the operator
 * @param domain of the operator; empty for ONNX's own
 * @param inputs names of values; empty where one is left out
 * @param outputs names of values; empty where one is not wanted
 * @param attributes by name
 */
public record OnnxNode(
    String name,
    String type,
    String domain,
    List<String> inputs,
    List<String> outputs,
    Map<String, OnnxAttribute> attributes) {}
