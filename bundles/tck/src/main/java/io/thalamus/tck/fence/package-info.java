// SPDX-License-Identifier: Apache-2.0
/** The checks of fenced executions, for any device: {@link io.thalamus.tck.fence.FenceSuite}. */
@Export
@Version("1.0.0")
package io.thalamus.tck.fence;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
