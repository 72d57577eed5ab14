// SPDX-License-Identifier: Apache-2.0
/**
 * What each operation of NNAPI is: signature, validation, shapes, resolved parameters.
 *
 * <p>Adding an operation touches exactly five places: the constant in {@code OperationCode}, one
 * {@link io.thalamus.operations.OperationDefinition} in the family's file here, one record of
 * parameters beside it, one reference kernel in the file of the same name in {@code backends/cpu},
 * and one case file in its tests.
 */
@Export
@Version("1.0.0")
package io.thalamus.operations;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
