// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.file;

import java.util.List;
import java.util.Map;

/**
 * An operator that a file defines by others.
 *
 * @param name the operator
 * @param domain of the operator; empty for ONNX's own
 * @param inputs names of values within it
 * @param outputs names of values within it
 * @param nodes in the order of execution; attributes with a {@code ref} are those of the caller
 * @param defaults settings that a caller may leave out, by name
 * @param opsets versions of the operators within it by domain
 */
public record OnnxFunction(
    String name,
    String domain,
    List<String> inputs,
    List<String> outputs,
    List<OnnxNode> nodes,
    Map<String, OnnxAttribute> defaults,
    Map<String, Long> opsets) {}
