package remote

import (
	"strconv"

	"cloud.google.com/go/storage"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	azureblob "github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"gocloud.dev/blob"
)

// A tag identifies the content of an object: the ETag of S3 and Azure, the generation of Google. A folder has none.
// The functions here ask the library for the request or the reply of each storage in turn; it has that of its own.

// tagOf returns the tag of an object that is being read; a folder's is empty.
func tagOf(r *blob.Reader) string {
	var amazon s3.GetObjectOutput
	var google *storage.Reader
	var azure azureblob.DownloadStreamResponse
	switch {
	case r.As(&amazon):
		return aws.ToString(amazon.ETag)
	case r.As(&google):
		return strconv.FormatInt(google.Attrs.Generation, 10)
	case r.As(&azure) && azure.ETag != nil:
		return string(*azure.ETag)
	}
	return ""
}

// unlessTagged makes a reading one of an object whose tag is another; a folder reads it anyway.
func unlessTagged(tag string) func(as func(any) bool) error {
	return func(as func(any) bool) error {
		var amazon *s3.GetObjectInput
		var google **storage.ObjectHandle
		var azure *azureblob.DownloadStreamOptions
		switch {
		case as(&amazon):
			amazon.IfNoneMatch = aws.String(tag)
		case as(&google):
			generation, err := strconv.ParseInt(tag, 10, 64)
			*google = (*google).If(storage.Conditions{GenerationNotMatch: generation})
			return err
		case as(&azure):
			etag := azcore.ETag(tag)
			azure.AccessConditions = &azureblob.AccessConditions{
				ModifiedAccessConditions: &azureblob.ModifiedAccessConditions{IfNoneMatch: &etag}}
		}
		return nil
	}
}

// overTagged makes a writing one in place of the object with that tag.
func overTagged(tag string) func(as func(any) bool) error {
	return func(as func(any) bool) error {
		var amazon *transfermanager.UploadObjectInput
		var google **storage.ObjectHandle
		var azure *azblob.UploadStreamOptions
		switch {
		case as(&amazon):
			amazon.IfMatch = aws.String(tag)
		case as(&google):
			generation, err := strconv.ParseInt(tag, 10, 64)
			*google = (*google).If(storage.Conditions{GenerationMatch: generation})
			return err
		case as(&azure):
			etag := azcore.ETag(tag)
			azure.AccessConditions = &azblob.AccessConditions{
				ModifiedAccessConditions: &azureblob.ModifiedAccessConditions{IfMatch: &etag}}
		}
		return nil
	}
}
