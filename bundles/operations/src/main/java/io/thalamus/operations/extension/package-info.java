// SPDX-License-Identifier: Apache-2.0
/**
 * Operations that NNAPI 1.3 lacks and real models need, as the extension {@code io.thalamus}. They
 * follow the same rules as NNAPI's own and stand in families of the same names; reference kernels
 * are in the package {@code extension} of {@code backends/cpu}.
 */
@Export
@Version("1.0.0")
package io.thalamus.operations.extension;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
