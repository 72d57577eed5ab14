// SPDX-License-Identifier: Apache-2.0
/**
 * The checks of bursts, for any device, through a client and by packets of the kit's own: {@link
 * io.thalamus.tck.burst.BurstSuite}.
 */
@Export
@Version("1.0.0")
package io.thalamus.tck.burst;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
