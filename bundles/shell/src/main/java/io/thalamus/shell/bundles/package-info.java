// SPDX-License-Identifier: Apache-2.0
/** Installing, updating and removing device bundles while the container runs. */
package io.thalamus.shell.bundles;
