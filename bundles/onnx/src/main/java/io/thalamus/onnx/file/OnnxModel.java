// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.file;

import java.util.List;
import java.util.Map;

/**
 * The content of a file.
 *
 * @param producer the program that wrote it
 * @param description for people
 * @param opsets versions of the operators by domain; empty for ONNX's own
 * @param functions operators that the file defines
 * @param graph the graph
 */
public record OnnxModel(
    String producer,
    String description,
    Map<String, Long> opsets,
    List<OnnxFunction> functions,
    OnnxGraph graph) {}
