// SPDX-License-Identifier: Apache-2.0
/**
 * Faults for any device, by script and by seed: late, hanging, crashing, wrong, exhausted and lost
 * executions, injected where {@code Device} and {@code PreparedModel} are called. A {@link
 * io.thalamus.chaos.FaultyDevice} stands in front of a device that knows nothing of it; the command
 * {@code nn:chaos} puts one in front of a device service.
 */
@Export
@Version("1.0.0")
package io.thalamus.chaos;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
