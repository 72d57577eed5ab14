// SPDX-License-Identifier: Apache-2.0
/**
 * Validation by mutation: models that are valid but for one fault, made as AOSP's {@code
 * validateModel} makes them, from the raw form of examples. Somebody must refuse each: the decoding
 * of the raw form, the validation of models, or the device.
 */
@Export
@Version("1.0.0")
package io.thalamus.tck.mutation;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
