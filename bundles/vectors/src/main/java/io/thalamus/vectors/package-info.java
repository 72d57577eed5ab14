// SPDX-License-Identifier: Apache-2.0
/**
 * The JSON form of models and conformance vectors: {@link io.thalamus.vectors.VectorFile} reads and
 * writes it, {@link io.thalamus.vectors.VectorRunner} runs one example, {@link
 * io.thalamus.vectors.VectorSuite} a directory of them. Beside them stands the reader of stored
 * models with the outputs of independent engines, {@link io.thalamus.vectors.ModelDirectory}.
 */
@Export
@Version("1.0.0")
package io.thalamus.vectors;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
