// SPDX-License-Identifier: Apache-2.0
/**
 * Burst executions: many small inferences in quick succession, sent as packets through fast message
 * queues. Begin at {@link io.thalamus.burst.BurstService}.
 */
@Export
@Version("1.0.0")
package io.thalamus.burst;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
