// SPDX-License-Identifier: Apache-2.0
/**
 * The interface of partition policies, which any bundle can provide: a service of type {@link
 * io.thalamus.runtime.policy.PartitionPolicy} chooses a device for each operation; the runtime
 * makes steps of that.
 */
@Export
@Version("1.0.0")
package io.thalamus.runtime.policy;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
