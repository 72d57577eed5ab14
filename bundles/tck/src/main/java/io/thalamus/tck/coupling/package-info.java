// SPDX-License-Identifier: Apache-2.0
/**
 * Quantization coupling: a device that takes TENSOR_QUANT8_ASYMM in an operation takes
 * TENSOR_QUANT8_ASYMM_SIGNED there as well, the other way round too, and computes the same.
 */
@Export
@Version("1.0.0")
package io.thalamus.tck.coupling;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
