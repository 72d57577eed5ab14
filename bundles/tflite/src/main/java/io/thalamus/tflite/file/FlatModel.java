// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.file;

import io.thalamus.memory.SharedMemory;
import java.util.List;
import java.util.Map;

/**
 * A file's content, read once. Refers to the file's mapping for constants.
 *
 * @param file the mapping
 * @param description may be empty
 * @param graphs at least one
 * @param metadata entries by name
 * @param signatures named entry points; may be empty
 */
public record FlatModel(
    SharedMemory file,
    String description,
    List<FlatGraph> graphs,
    Map<String, ByteRange> metadata,
    List<FlatSignature> signatures) {}
