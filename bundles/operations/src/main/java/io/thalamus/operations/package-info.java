// SPDX-License-Identifier: Apache-2.0
/**
 * The operations of NNAPI: signatures, validation, shapes, resolved parameters, traits.
 *
 * <p>Adding an operation touches five places: the constant in {@code OperationCode} or in {@link
 * io.thalamus.operations.extension.ThalamusExtension}, one {@link
 * io.thalamus.operations.OperationDefinition} in the family's file here, one record of parameters
 * beside it where it has any, one reference kernel in the file of the same name in {@code
 * backends/cpu}, and one case file in its tests. {@code CompletenessTest} here and there and {@code
 * ClaimsTest} there name what is missing. Everybody else reads what an operation is from its
 * definition: the runtime, the readers of model files, the kit, and the page {@code
 * docs/operations.md}, which {@code integration-tests/run operations} writes. A format converts the
 * operation when it gets a converter for it, and another device when it gets a kernel.
 */
@Export
@Version("1.0.0")
package io.thalamus.operations;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
